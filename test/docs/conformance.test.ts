/** The rules: whole, and about files that exist. That each has a test that passes, scripts/test.mjs checks after a full run. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { rulesOf } from '../../scripts/conformance.mjs';

const root = path.join(import.meta.dirname, '..', '..');

it('each rule has one id', () => {
  const ids = rulesOf(root);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  expect(ids.filter((id) => id.startsWith('PROMISE-'))).toHaveLength(11);
});

const text = z.string().min(1);
const row = z.strictObject({ id: z.string().regex(/^[A-Z]+-\d+$/), rule: text, where: z.array(text).min(1) });
const { rules } = z
  .strictObject({ rules: z.array(row).min(250) })
  .parse(JSON.parse(readFileSync(path.join(root, 'dev', 'conformance.json'), 'utf8')));

it('dev/conformance.json names only source files that exist', () => {
  const named = new Set(rules.flatMap(({ where }) => where));
  expect([...named].filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
});
