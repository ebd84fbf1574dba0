/** What the broker's parts share. */
import { expect, it } from 'vitest';
import { networkOf } from '../../src/daemon/assembly.ts';
import { HandClock } from '../broker/hand-clock.ts';
import { defaultSettings } from '../../src/daemon/settings/settings.ts';

it('the requests to all endpoints share what was learned of each server: its clock and its client authentication', () => {
  const net = { fetchFor: () => () => Promise.reject(new Error('nothing is sent here')) };
  const network = networkOf({
    clock: new HandClock(),
    net,
    overrides: { isPrivate: () => false },
    settings: defaultSettings,
  });
  const [first, later, other] = ['a', 'a', 'b'].map((name) => network(`https://${name}.example/mcp`));
  expect(first?.secretForms).toBeInstanceOf(Map);
  for (const one of [later, other]) {
    expect(one?.secretForms).toBe(first?.secretForms);
    expect(one?.serverClocks).toBe(first?.serverClocks);
  }
});
