tenon sample -q s.apr
printf '<s>\n\n a\nb' >vocab.txt
printf '#version: 0.2\na b\nab c\n' >merges.txt
: >empty.txt
tenon stamp -q s.apr a.apr --vocabulary vocab.txt --merges merges.txt --tokenizer-model bpe
for key in tokenizer.vocabulary tokenizer.vocab_size tokenizer.merges tokenizer.model_type; do
	tenon get a.apr --meta $key
done
tenon stamp -q a.apr b.apr --vocabulary empty.txt
cmp a.apr b.apr && echo an empty list changes nothing
