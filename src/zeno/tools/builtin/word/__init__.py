"""The Word report: a document that a manager can forward as it is, with charts that stay editable."""
