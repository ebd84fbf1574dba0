/** What the broker's parts share. */
import { expect, it } from 'vitest';
import { nowhere } from './nowhere.ts';
import { brokerRig } from './rig.ts';

it('all endpoints share what was learned of a server’s clock and client secret', async () => {
  const { parts } = await brokerRig(nowhere);
  const [first, later, other] = ['a', 'a', 'b'].map((name) => parts.network(`https://${name}.example/mcp`));
  expect(first?.secretForms).toBeInstanceOf(Map);
  for (const one of [later, other]) {
    expect(one?.secretForms).toBe(first?.secretForms);
    expect(one?.serverClocks).toBe(first?.serverClocks);
  }
});
