"""`ohm ui`: the kept tasks of all processes as a local web page, and as one file.

`app` is the server, `guard` says who may ask it, `shapes` what it answers. The page itself is in `page/`.
"""
