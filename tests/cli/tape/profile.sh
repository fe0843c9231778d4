tenon sample -q --no-sync m.thin
tenon profile m.thin --target-vram 300K -o side.json
tenon profile m.thin --target-vram 300K --json > out.json
printf '\n' | cat side.json - | cmp - out.json
head -12 out.json
