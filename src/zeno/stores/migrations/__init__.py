"""The history of the schema. A released version is never edited; `HEAD` names the newest."""

HEAD = "0002"
