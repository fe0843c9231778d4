tenon ls -
