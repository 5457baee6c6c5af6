"""Work on a table: from a sentence and a profile of the file to queries, from their results to facts, from facts to prose.

It knows the JSON that the table tools put at the end of their results, and never opens a file itself.
"""
