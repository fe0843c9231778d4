# a folder, its file, and the file without what lies beside it
checkpoint ck
tenon convert ck a.thin --dry-run
tenon convert ck a.thin --no-sync && wc -c <a.thin
tenon convert -q ck/model.safetensors b.thin --no-sync && cmp a.thin b.thin
tenon verify a.thin
tenon info a.thin
tenon ls a.thin
tenon convert -v ck plain.thin --no-config --no-sync
tenon convert -q ck named.thin --arch mine --no-tokenizer --no-sync && tenon info named.thin | grep -e ' arch ' -e tokenizer
mv ck/config.json elsewhere.json
tenon convert -q ck c.thin --config elsewhere.json --no-sync
tenon info c.thin | grep tokenizer
tenon info a.thin | grep hidden
