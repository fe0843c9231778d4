tenon sample -q s.apr
tenon stamp s.apr a.apr --license 'Apache-2.0 OR MIT' --data-source 'the "public" part' --architecture llama
tenon stamp a.apr b.apr --license 'Apache-2.0 OR MIT' --data-source 'the "public" part' --architecture llama -q
cmp a.apr b.apr && echo the same
tenon get a.apr --meta license
tenon get a.apr --meta data_source
tenon hash s.apr | tail -n 1
tenon hash a.apr | tail -n 1
tenon verify --deep a.apr
tenon stamp a.apr c.apr --data-license '' --hf-architecture LlamaForCausalLM --hf-model-type llama --json
tenon get c.apr --meta license
