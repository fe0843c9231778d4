# A text file with the extension of a model, and a model without one.
echo hello >h.bpk
status tenon ls h.bpk
numbers >plain && tenon ls -q plain
