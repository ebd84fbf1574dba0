/** docs/reference/wire-protocol.md names every method that an app may call with its parameters, and every field of an answer. */
import { expect, it } from 'vitest';
import * as z from 'zod';
import { methods } from '../../src/ipc/protocol/methods.ts';
import { page, section, tableRows } from './pages.ts';

const { text } = page('docs/reference/wire-protocol.md');
const rows = new Map(
  tableRows(section(page('docs/reference/wire-protocol.md'), 'Methods'))
    .filter(([name = '']) => /^`[\w.]+`$/.test(name))
    .map(([name = '', what = '']) => [name.replaceAll('`', ''), what]),
);

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
}

const shapeOf = (schema: z.ZodType): Shape =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Shape;

/** Every field of a value, however deep. */
function fieldsIn({ properties = {}, items, anyOf = [] }: Shape): string[] {
  const inner = [...Object.values(properties), ...(items ? [items] : []), ...anyOf];
  return [...Object.keys(properties), ...inner.flatMap(fieldsIn)];
}

const all = Object.entries(methods)
  .filter(([, { who }]) => who !== 'owner')
  .map(([name, { params, result }]) => ({ name, params, result }));

it.each(all)('has a row for $name with its parameters', ({ name, params }) => {
  const { properties = {}, required = [] } = shapeOf(params);
  const [stated = ''] = (rows.get(name) ?? '').split('→');
  expect(rows.has(name)).toBe(true);
  // Of two of which one is needed, none has a question mark.
  const missing = Object.keys(properties).filter(
    (key) => !stated.includes(`\`${key}\``) && (required.includes(key) || !stated.includes(`\`${key}?\``)),
  );
  expect(missing).toEqual([]);
});

it.each(all)('names what $name takes and answers', ({ params, result }) => {
  const fields = [params, result].flatMap((schema) => fieldsIn(shapeOf(schema)));
  expect(fields.filter((field) => !text.includes(`\`${field}\``) && !text.includes(`\`${field}?\``))).toEqual(
    [],
  );
});
