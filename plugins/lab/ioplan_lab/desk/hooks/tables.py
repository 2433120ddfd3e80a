"""Tables of web hooks, and of what they have yet to deliver."""

TABLES = {
    "desk_hook": """
CREATE TABLE desk_hook (
  number INTEGER NOT NULL,
  url TEXT NOT NULL,
  events VARCHAR NOT NULL,
  secret VARCHAR NOT NULL,
  inside INTEGER NOT NULL,
  person VARCHAR NOT NULL,
  at VARCHAR NOT NULL,
  PRIMARY KEY (number)
)""",
    "desk_delivery": """
CREATE TABLE desk_delivery (
  number INTEGER NOT NULL,
  hook INTEGER NOT NULL,
  event VARCHAR NOT NULL,
  body TEXT NOT NULL,
  made_at VARCHAR NOT NULL,
  attempts INTEGER NOT NULL,
  next_at VARCHAR NOT NULL,
  state VARCHAR NOT NULL,
  answer TEXT NOT NULL,
  PRIMARY KEY (number)
)""",
}
