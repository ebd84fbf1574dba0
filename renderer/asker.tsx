/**
 * Who asks: the program's name, its file and what started it, and how far that is known.
 *
 * Invariant: a name alone is always shown as unverified.
 */
import { commandName } from './allowance.ts';
import { Fact, Facts } from './facts.tsx';
import { Foreign } from './foreign.tsx';
import { strings } from './strings.ts';
import type { LocalClient, Question } from './views.ts';

const words = strings.card;

/** Programs of the chain that are shown; the nearest say the most. */
const mostParents = 6;

/** Characters of a path. */
const longestPath = 300;

interface AskerProps {
  readonly question: Question;
  /** The paired program of that name. */
  readonly asker: LocalClient | undefined;
  /** Whether the paired programs are known yet. */
  readonly isRead: boolean;
}

export function Asker({ question, asker, isRead }: AskerProps) {
  const { client = '' } = question;
  const { executable, pid, parents = [] } = question.asker ?? {};
  const file = executable ?? asker?.executable;
  return (
    <>
      <Facts>
        <Fact name={words.who}>
          <strong>
            <Foreign text={client} />
          </strong>
        </Fact>
        <Fact name={words.file}>
          {!isRead && file === undefined && <span class="dim">{strings.loading}</span>}
          {isRead && file === undefined && <span class="tag warn">{words.unverified}</span>}
          {file !== undefined && (
            <>
              <code>
                <Foreign text={file} bound={longestPath} />
              </code>{' '}
              <span class="tag">{executable === undefined ? words.seenAtPairing : words.verified}</span>
            </>
          )}
        </Fact>
        {pid !== undefined && <Fact name={words.pid}>{pid}</Fact>}
        {parents.length > 0 && (
          <Fact name={words.startedBy}>
            <ol class="parents">
              {parents.slice(0, mostParents).map((parent) => (
                <li key={parent}>
                  <Foreign text={parent} />
                </li>
              ))}
            </ol>
          </Fact>
        )}
      </Facts>
      {client === commandName && question.kind === 'allow' && <p class="warning">{words.cliWarning}</p>}
    </>
  );
}
