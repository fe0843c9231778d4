/* loss.c - what a file to be written lacks of the one that was read: a reader tells and goes on, a writer stops. */
#include "api/loss.h"

void loss_of_opening(const tn_file *f, bool allowed, struct tn_report *r)
{
	for (size_t i = 0; i < f->report.n; i++) {
		const tn_finding *said = &f->report.list[i];
		bool lost = said->severity == TN_ERROR || said->code == TN_E_LOSSY;
		if (lost)
			report_add(r, allowed ? TN_WARNING : TN_ERROR, TN_E_LOSSY, said->offset, said->tensor, "%s", said->text);
		else if (said->severity == TN_WARNING)
			report_add(r, TN_WARNING, said->code, said->offset, said->tensor, "%s", said->text);
	}
}

tn_code loss_refuse(const struct tn_report *r, tn_error *err)
{
	if (r->of[TN_ERROR] == 0)
		return TN_OK;
	for (size_t i = 0; i < r->n; i++) {
		if (r->list[i].severity != TN_ERROR)
			continue;
		if (r->of[TN_ERROR] == 1)
			return err_set(err, TN_E_LOSSY, TN_NO_OFFSET, "%s", r->list[i].text);
		return err_set(err, TN_E_LOSSY, TN_NO_OFFSET, "%s (and %zu more losses)", r->list[i].text, r->of[TN_ERROR] - 1);
	}
	return err_set(err, TN_E_LOSSY, TN_NO_OFFSET, "%zu losses", r->of[TN_ERROR]);
}
