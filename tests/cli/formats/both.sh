tenon formats && tenon formats --json
