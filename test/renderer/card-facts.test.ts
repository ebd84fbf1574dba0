/** Each fact of a question is on its card: what would be given or changed, to whom, and who asks. */
import { expect, it } from 'vitest';
import { exampleLater } from '../support/homes/example-desk.ts';
import { waiting } from '../support/states/lists.ts';
import { type Question, questions } from '../support/states/questions.ts';
import { answerIn } from '../support/states/states.ts';
import { openDetails, windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

/** What the page says in words of its own, or what is no fact for the user. */
const worded: ReadonlySet<string> = new Set(
  'id card kind state command method grantType authMethod exception file changeableBy scheme'.split(' '),
);

/** Every text in a question but those. A list of scopes is a text for each. */
function factsOf(value: unknown, name = ''): string[] {
  if (worded.has(name)) return [];
  if (name === 'scope') return String(value).split(' ').filter(Boolean);
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => factsOf(inner, key));
}

it('a card says each fact of its question, and who asks', async () => {
  let shown: Question | undefined;
  const { page, change } = await openWindow({
    hash: 'card',
    later: exampleLater(),
    answer: (channel, params) => answerIn({ lists: waiting(...(shown ? [shown] : [])) })(channel, params),
  });
  const missing: string[] = [];
  for (const [name, question] of Object.entries(questions)) {
    if (name.endsWith('-long')) continue;
    shown = { ...question, id: name };
    await change();
    await page.evaluate(`location.hash = "card/${name}"`);
    await page.locator('.question').waitFor();
    await openDetails(page);
    const text = await page.evaluate<string>(`{
      const card = document.querySelector('.question');
      [card.textContent, ...[...card.querySelectorAll('input')].map(({ value }) => value)].join(' ');
    }`);
    missing.push(...factsOf(question).flatMap((fact) => (text.includes(fact) ? [] : `${name}: ${fact}`)));
  }
  expect(missing).toEqual([]);
});
