/* The public header needs nothing before it, may come twice, and its structs take a zero initialiser. */
#include "tenon.h"
#include "tenon.h"

int main(void)
{
	tn_open_options open = {0};
	tn_write_options write = {0};
	tn_convert_options convert = {0};
	tn_error err = {0};
	tn_file *file;

	convert.write = write;
	if (tn_open(&file, "model.safetensors", &open, &err) != TN_OK)
		return 1;
	tn_close(file);
	return convert.dry_run;
}
