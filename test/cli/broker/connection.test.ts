/** After which refusals a command asks the next broker the same. */
import { describe, expect, it } from 'vitest';
import { throughRestart, throughTakeover } from '../../../src/cli/broker/connection.ts';
import { NotStarted } from '../../../src/cli/broker/no-broker.ts';
import { KeyturnError, Unreachable } from '../../../src/base/errors.ts';

const stops = new KeyturnError('broker_stopping', 'it stops');
const died = new Unreachable('broker_unreachable', 'it closed the connection');
const notStarted = new NotStarted('broker_unreachable', 'it could not be started');

/** Refuses so, one try after the other, and answers then. */
function refusing(...refusals: Error[]): () => Promise<string> {
  return async () => {
    const refusal = refusals.shift();
    if (refusal) throw refusal;
    return 'answered';
  };
}

describe('work that must not be done twice', () => {
  it('is asked again where the broker stops, and while the next one is not there yet', async () => {
    expect(await throughTakeover(refusing(stops, died, stops))).toBe('answered');
  });

  it('is not asked again where the broker died under it', async () => {
    await expect(throughTakeover(refusing(died))).rejects.toBe(died);
    const refused = refusing(stops, died);
    const asking = throughTakeover(async (_isFirst, reached) => {
      reached();
      return refused();
    });
    await expect(asking).rejects.toBe(died);
  });
});

describe('work that may be done twice', () => {
  it('is asked again where the broker died under it', async () => {
    expect(await throughRestart(refusing(died, stops))).toBe('answered');
  });

  it('is not asked again where no broker can be started', async () => {
    await expect(throughRestart(refusing(notStarted))).rejects.toBe(notStarted);
  });
});
