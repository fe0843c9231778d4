# A reader that goes away ends the command without a word.
tenon sample -q --no-sync --tensors 20000 t.bpk
tenon ls t.bpk | head -n 1
