/** A thousand random lives of a home's document, which a short form in `npm test` begins. KEYTURN_SOAK_SEQUENCES: how many. */
import { test } from 'vitest';
import { runSequence } from '../store/document-sequences.ts';
import { numberFrom, report } from './report.ts';

const sequences = numberFrom('KEYTURN_SOAK_SEQUENCES', 1000);

test('an answered denial holds, and the home can be opened', async () => {
  for (let seed = 1; seed <= sequences; seed += 1) await runSequence(seed);
  report('document', { sequences });
});
