tenon --version
