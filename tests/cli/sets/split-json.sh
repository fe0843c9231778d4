three_shards set
tenon split set out --json --max-tensors 2 --dry-run
tenon split --json set out --max-tensors 3
ls out
