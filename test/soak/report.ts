/** Where a long run writes its numbers: one JSON line each, to the file named by KEYTURN_SOAK_REPORT. */
import { appendFileSync } from 'node:fs';
import process from 'node:process';

/** Appends `{run, ...numbers}`; does nothing where no file is named. */
export function report(run: string, numbers: object): void {
  const file = process.env['KEYTURN_SOAK_REPORT'];
  if (file) appendFileSync(file, `${JSON.stringify({ run, ...numbers })}\n`);
}

/** A whole number from the environment. Throws where it is set to something else. */
export function numberFrom(name: string, otherwise: number): number {
  const text = process.env[name];
  if (text === undefined || text === '') return otherwise;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`${name} must be a whole number`);
}
