"""The text of uploaded documents, read in processes of their own (R1).

From the top down:

    processes.py    the `DocumentReader`: starts a process for each document, bounds it and takes its text
    child.py        what such a process runs; confinement.py takes from it what it has no need of
    extraction.py   from a file to its text, by what the file is
    kinds.py        what the file is
    plain_text.py   text as it stands; charsets.py finds its encoding
    html_text.py    the text of an HTML page; flowing_text.py sets it in lines and paragraphs
    pdf_text.py     the text of a PDF
    text_sink.py    where the text goes, up to its bound; refusal.py is for what has none
    frames.py       how a child hands over what it found

Nothing is exported here: a child imports this package too, and has no need of what the parent needs.
"""
