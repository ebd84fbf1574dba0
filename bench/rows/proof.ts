/** One proof (RFC 9449), as the broker makes it for each request of a program. */
import { ProofKey } from '../../src/oauth/client/proof-key.ts';
import { isSmoke } from '../form.ts';
import { inTurn, type Measurement, timeOf } from '../row.ts';

export const proof: Measurement = {
  name: 'proof',
  async measure() {
    const [turns, rounds] = isSmoke ? [1, 20] : [7, 500];
    const key = ProofKey.create();
    const url = new URL('https://server.example/mcp');
    const request = { method: 'POST', url, accessToken: 'a'.repeat(1500), time: Date.now() };
    const times = await inTurn(turns, {
      ours: async () => 1000 * (await timeOf(rounds, async () => key.proof(request))),
    });
    return { name: 'proof', what: 'one proof of a key', unit: 'µs', ...times, goals: [] };
  },
};
