/** What there is to know of the running broker: version, log, shield, clocks, files, and every setting. */
import type { ComponentChildren } from 'preact';
import { maxPathLength } from '../../cards/asker.tsx';
import { Fact, Facts } from '../../parts/facts.tsx';
import { fit } from '../../base/foreign-text.ts';
import { Address, Foreign } from '../../parts/foreign.tsx';
import { Notice } from '../../parts/notice.tsx';
import { NextStart } from './setting-choice.tsx';
import { strings } from '../../base/strings.ts';
import { UnconfirmedFacts } from '../../cards/settings-card.tsx';
import type { SettingDetail, Status } from '../../base/views.ts';
import { number, settingText } from '../../base/words.ts';

const words = strings.settings;

interface BrokerFactsProps {
  readonly status: Status;
  readonly details: readonly SettingDetail[];
}

export function BrokerFacts({ status, details }: BrokerFactsProps) {
  const { insecureLoopback, unreadable, index, version, home, browser } = status;
  return (
    <section class="card" aria-labelledby="broker-title">
      <h3 id="broker-title">{words.broker}</h3>
      {insecureLoopback && <Notice kind="warn">{words.insecure}</Notice>}
      {unreadable.length > 0 && <Unreadable files={unreadable} />}
      <HomeNotice home={status.homeState} />
      {index.differences.length > 0 && <Differences index={index} />}
      <Facts>
        <Fact name={words.version}>
          <Foreign text={version} />
        </Fact>
        <Fact name={words.home}>
          <Path text={home} />
        </Fact>
        <Log status={status} />
        <Fact name={words.index}>{words.indexChecked(index.checked)}</Fact>
        <Fact name={words.shield}>
          <Lines lines={status.unshielded} none={words.shieldWhole} />
        </Fact>
        {status.clocks.length > 0 && <Clocks clocks={status.clocks} />}
        <Fact name={words.browser}>
          {browser === undefined ? words.browserSystem : <Foreign text={browser} bound={maxPathLength} />}
        </Fact>
      </Facts>
      <details class="disclosure">
        <summary>{words.other}</summary>
        <p class="dim small">{words.otherHint}</p>
        <Facts>
          {details.map((detail) => (
            <Fact key={detail.name} name={detail.name}>
              <SettingFact detail={detail} />
            </Fact>
          ))}
        </Facts>
      </details>
    </section>
  );
}

/** What was written outside Keyturn, and why nothing is served. */
function HomeNotice({ home: { state, why = '', differing } }: { readonly home: Status['homeState'] }) {
  return (
    <>
      {state === 'strange' && (
        <Notice kind="bad">
          <p>{words.strange}</p>
          <p>
            <Foreign text={why} bound={maxPathLength} />
          </p>
        </Notice>
      )}
      {differing.length > 0 && (
        <Notice kind="warn">
          <p>{words.unconfirmed}</p>
          <UnconfirmedFacts settings={differing} />
        </Notice>
      )}
    </>
  );
}

function Path({ text }: { readonly text: string }) {
  return (
    <span class="path">
      <Foreign text={text} bound={maxPathLength} />
    </span>
  );
}

function Log({ status: { log, audit } }: { readonly status: Status }) {
  return (
    <>
      <Fact name={words.logFile}>
        {log.file === undefined ? words.logTerminal : <Path text={log.file} />}
        {!log.ok && <span class="tag warn">{words.logBroken}</span>}
      </Fact>
      <Fact name={words.audit}>
        {words.auditStates[audit.state]}
        {audit.reason !== undefined && (
          <>
            {': '}
            <Foreign text={audit.reason} />
          </>
        )}
      </Fact>
    </>
  );
}

function Clocks({ clocks }: { readonly clocks: Status['clocks'] }) {
  return (
    <Fact name={words.clocks}>
      {clocks.map(({ issuer, ahead }) => {
        const seconds = number(Math.abs(ahead));
        return (
          <p key={issuer}>
            <Address url={issuer} /> {ahead > 0 ? words.clockAhead(seconds) : words.clockBehind(seconds)}
          </p>
        );
      })}
    </Fact>
  );
}

function Lines({ lines, none }: { readonly lines: readonly string[]; readonly none: ComponentChildren }) {
  if (lines.length === 0) return <>{none}</>;
  return (
    <ul>
      {lines.map((line) => (
        <li key={line}>{fit(line, maxPathLength).text}</li>
      ))}
    </ul>
  );
}

function SettingFact({ detail: { value, source, live } }: { readonly detail: SettingDetail }) {
  return (
    <>
      {value === undefined || value === null ? (
        <span class="dim">{words.unset}</span>
      ) : (
        <Foreign text={settingText(value)} />
      )}{' '}
      {source === 'environment' && <span class="tag">{words.fromEnvironment}</span>}{' '}
      <NextStart isLive={live} />
    </>
  );
}

function Unreadable({ files }: { readonly files: Status['unreadable'] }) {
  return (
    <Notice kind="bad">
      <p>{words.unreadable}</p>
      <ul>
        {files.map(({ file, why }) => (
          <li key={file}>
            <Foreign text={file} bound={maxPathLength} />: <Foreign text={why} bound={maxPathLength} />
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function Differences({ index: { differences, more } }: { readonly index: Status['index'] }) {
  return (
    <Notice kind="bad">
      <p>{words.indexDiffers}</p>
      <ul>
        {differences.map(({ grant, what }) => (
          <li key={grant}>
            <Foreign text={grant} />: <Foreign text={what} bound={maxPathLength} />
          </li>
        ))}
      </ul>
      {more > 0 && <p>{words.indexMore(number(more))}</p>}
    </Notice>
  );
}
