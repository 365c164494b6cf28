"""`ohm ui`: the kept tasks of all processes as a local web page, and as one file.

`server` is the server, `guard` says who may ask it, `answers` and `shapes` what it answers.
The page itself is in `page/`.
"""
