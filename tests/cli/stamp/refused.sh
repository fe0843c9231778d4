tenon sample -q s.apr
tenon sample -q s.safetensors
status tenon stamp s.apr a.apr
status tenon stamp s.apr a.apr --license 'Apache-2'
status tenon stamp s.apr a.apr --data-license 'MIT OR'
status tenon stamp s.apr a.apr --merges nothing.txt
status tenon stamp s.safetensors a.apr --license MIT
status tenon stamp s.apr - --license MIT
status tenon stamp nothing.apr a.apr --license MIT
ls
status tenon stamp s.apr s.apr --license MIT
status tenon stamp s.apr s.apr --license MIT --force
