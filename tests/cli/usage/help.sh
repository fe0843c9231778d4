tenon help
tenon help >one && tenon --help | cmp one - && tenon -h | cmp one -
