/** Who uses what: the connected apps, the servers, and the lines between them. */
import { useMemo, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { formatCount } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import { Empty, ListFrame } from '../../lists/list-frame.tsx';
import { Sparkline } from '../activity/recent-activity.tsx';
import { SignInState } from '../../parts/state-mark.tsx';
import { sanitize } from '../../base/untrusted-text.ts';
import { Name, TextList } from '../../parts/untrusted-text.tsx';
import { ViewHead } from '../view-head.tsx';
import { When } from '../../parts/when.tsx';
import { goTo } from '../../state/route.ts';
import { useList } from '../../state/store.ts';
import { useUses } from '../../state/uses.ts';
import { graphOf } from './graph.ts';
import { addItem } from '../servers/servers.tsx';
import type { AppNode, Graph, ServerNode } from './graph.ts';
import { LinkLines } from './link-lines.tsx';

const words = strings.overview;

export function Overview() {
  const signIns = useList('signIn.list');
  const clients = useList('app.list');
  const keys = useList('apiKey.list').value?.apiKeys;
  const uses = useUses();
  const graph = useMemo(
    () =>
      graphOf({
        clients: clients.value?.apps ?? [],
        signIns: signIns.value?.signIns ?? [],
        keys: keys ?? [],
        uses,
      }),
    [clients.value, signIns.value, keys, uses],
  );
  return (
    <>
      <ViewHead title={words.title} lead={words.lead}>
        <Button text={strings.servers.add} onPress={() => goTo('servers', addItem)} />
      </ViewHead>
      <ListFrame
        loaded={clients.value === undefined ? clients : signIns}
        isEmpty={graph.servers.length === 0}
        words={words}
      >
        <Picture graph={graph} />
      </ListFrame>
    </>
  );
}

function Picture({ graph: { apps, servers, links, isCut } }: { readonly graph: Graph }) {
  const [hot, heat] = useState<string>();
  return (
    <section class="card" aria-label={words.title}>
      <div class="graph">
        <h3>{strings.apps.title}</h3>
        <h3 class="servers-title">{strings.servers.title}</h3>
        <ul class="apps">
          {apps.map((app) => (
            <li key={app.id}>
              <AppButton app={app} onHeat={heat} />
            </li>
          ))}
          {apps.length === 0 && <Empty title={strings.apps.emptyTitle} text={strings.apps.empty} />}
        </ul>
        <LinkLines links={links} hot={hot} />
        <ul class="servers">
          {servers.map((server) => (
            <li key={server.endpoint}>
              <ServerButton server={server} onHeat={heat} />
            </li>
          ))}
        </ul>
      </div>
      <p class="dim small">{isCut ? words.cut : words.hint}</p>
    </section>
  );
}

type Heat = (node: string | undefined) => void;

/** What makes a node's lines stand out: the pointer, or the focus. */
const heating = (node: string, heat: Heat) => ({
  onPointerEnter: () => heat(node),
  onPointerLeave: () => heat(undefined),
  onFocus: () => heat(node),
  onBlur: () => heat(undefined),
});

function AppButton({ app, onHeat }: { readonly app: AppNode; readonly onHeat: Heat }) {
  const { id, name, lastUsedAt, servers, use } = app;
  return (
    <button type="button" class="node" {...heating(id, onHeat)} onClick={() => goTo('apps', id)}>
      <span class="node-name">
        <Name text={name} bound={60} />
      </span>
      <Sparkline values={use.hours} />
      <span class="node-more dim small">
        <Names names={servers.map(hostOf)} />
        {' · '}
        {lastUsedAt === undefined ? strings.never : <When at={lastUsedAt} />}
        <Total of={use.total} />
      </span>
    </button>
  );
}

function ServerButton({ server, onHeat }: { readonly server: ServerNode; readonly onHeat: Heat }) {
  const { endpoint, item, signIn, apps, use } = server;
  return (
    <button type="button" class="node" {...heating(endpoint, onHeat)} onClick={() => goTo('servers', item)}>
      <span class="node-name">
        <Name text={hostOf(endpoint)} bound={100} />
        {signIn && (signIn.state !== 'active' || signIn.trouble) && (
          <SignInState state={signIn.state} isTroubled={signIn.trouble !== undefined} />
        )}
        {item === undefined && <span class="dim small">{words.notSignedIn}</span>}
      </span>
      <Sparkline values={use.hours} />
      <span class="node-more dim small">
        {apps.length === 0 ? strings.servers.usedByNobody : <Names names={apps} />}
        {use.last !== undefined && (
          <>
            {' · '}
            <When at={use.last} />
          </>
        )}
        <Total of={use.total} />
      </span>
    </button>
  );
}

/** Names of one node; the rest is a number. */
const maxNames = 3;

function Names({ names }: { readonly names: readonly string[] }) {
  const rest = names.length - maxNames;
  return (
    <>
      <TextList texts={names.slice(0, maxNames)} bound={60} />
      {rest > 0 && `, ${strings.servers.more({ count: String(rest) })}`}
    </>
  );
}

/** What the sparkline shows, for readers. */
function Total({ of }: { readonly of: number }) {
  return (
    <span class="visually-hidden">
      . {strings.activity.chartText({ counts: formatCount(of, 'handedOut') })}
    </span>
  );
}

/** The whole address where it has no host, or could pass for another one. */
function hostOf(endpoint: string): string {
  return sanitize(endpoint).needsQuotes ? endpoint : URL.parse(endpoint)?.host || endpoint;
}
