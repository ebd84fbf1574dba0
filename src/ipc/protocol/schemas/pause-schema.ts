/** A pause of all access, as a schema of the wire. */
import * as z from 'zod';

import { instant } from './values.ts';

export const pause = z.object({
  since: instant,
  /** Absent: until the user resumes. */
  until: instant.optional(),
});
