"""Text for people and models, and the envelope, made from records; pure. Never which tool or terminal asked.

`projection.project` makes the envelope of a reply, `model_text.model_text` or `framed_text.framed_text` its text for a
model, `view_text.view_text` that for a person; `answer.cut` cuts an answer for all of them.
"""
