"""Text for people and models, and the envelope, made from records; pure. Never which tool or terminal asked."""
