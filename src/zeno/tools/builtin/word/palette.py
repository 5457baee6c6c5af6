"""The colours of a report, as RRGGBB. The series colours keep apart for colour-blind readers and in greyscale."""

INK = "1F2933"
MUTED = "5F6B7A"
ACCENT = "1F4E79"
TINT = "EEF3F8"
RULE = "D5DCE4"
RISE = "187544"
FALL = "B3261E"
PAPER = "FFFFFF"
SERIES = ("1F4E79", "E07A1F", "2A9D8F", "B5477A", "6C757D", "7A5BB5", "C9A227", "4FA3D1")
