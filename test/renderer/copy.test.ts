/** The copy buttons: they say what became of the text, to the eye and to a screen reader. */
import { describe, expect, it } from 'vitest';
import { exampleAnswer } from '../support/homes/example-desk.ts';
import { type Answer, releaseTimers, windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

const command = 'npm run setup && npm install --global .';

/** The welcome where no command is installed, and what its page asked of the main process, which refuses to copy where it is told so. */
async function openWelcome(isRefused: boolean) {
  const asked: unknown[] = [];
  const known = exampleAnswer({ 'setup.look': { look: 'look-1', runs: 0, clients: [] } });
  const answer: Answer = async (channel, params) => {
    if (channel === 'text.copy') asked.push(params);
    if (channel !== 'text.copy' || !isRefused) return known(channel, params);
    return { ok: false, refusal: { reason: 'not_permitted', message: 'Nothing was allowed.' } };
  };
  const { page } = await openWindow({ answer, hash: 'welcome', areTimersHeld: true });
  const copy = page.getByRole('button', { name: `Copy: ${command}` });
  const copied = page.getByRole('button', { name: `Copied: ${command}` });
  const said = page.locator('.announcement p');
  const selected = (): Promise<string> => page.evaluate('String(getSelection())');
  return { page, asked, copy, copied, said, selected };
}

describe('a copy button', () => {
  it('says "Copied" for a while, and is the same size all the time', async () => {
    const { page, asked, copy, copied, said, selected } = await openWelcome(false);
    const before = await copy.boundingBox();
    await copy.click();
    await copied.waitFor();
    expect(asked).toEqual([{ text: command }]);
    expect(await copied.innerText()).toBe('Copied');
    expect(await said.innerText()).toBe('Copied');
    expect((await selected()).trim()).toBe(command);
    expect(await copied.boundingBox()).toEqual(before);
    await releaseTimers(page);
    await copy.waitFor();
    expect(await copy.innerText()).toBe('Copy');
  });
});
