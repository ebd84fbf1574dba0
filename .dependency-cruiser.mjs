// Who may import whom, checked by `npm run check`. Which packages a folder may load is in the package.json above it.
/** What each folder may import of the others, by the beginnings of paths: in src/, or with a slash before it in the project. */
const mayImport = {
  'src/base': '',
  'src/oauth': 'base',
  'src/server': 'base oauth/base oauth/discovery',
  'src/serve': 'base server',
  'src/vault': 'base',
  'src/store': 'base vault',
  'src/audit': 'base',
  'src/broker': 'base oauth vault store audit',
  'src/ipc': 'base',
  'src/client': 'base ipc/wire',
  'src/bridge': 'base ipc/wire client',
  'src/proxy': 'base ipc/wire ipc/peer client',
  'src/daemon': 'base oauth vault store audit broker ipc proxy/messages proxy/worker-file',
  'src/setup': 'base oauth/base oauth/discovery ipc/protocol ipc/wire client/endpoint-url',
  'src/service': 'base ipc/wire',
  // src/cli/single.ts is every process of the one-file program.
  'src/cli':
    'base oauth ipc client bridge daemon serve setup service audit/audit-export broker/destination/redirect vault/keychain/keychain-worker proxy/proxy-worker',
  electron: '/words base oauth vault audit/audit-export ipc client daemon proxy setup service',
  // A hole in a page could reach what its preload loads.
  'electron/preload': '/electron/bridge/messages /electron/bridge/channels',
  renderer: '/words /electron/bridge/channels',
  words: '',
  demo: 'client base/errors serve/trusting-fetch',
};

const ours = '^(src|electron|renderer|words|demo)/';
const rule = (name, from, to) => ({ name, severity: 'error', from, to });
const walls = Object.entries(mayImport).map(([folder, others]) => {
  const starts = others.split(' ').map((name) => (name.startsWith('/') ? name.slice(1) : `src/${name}`));
  const allowed = [folder, ...(others ? starts : [])].map((start) => `${start}[/.]`);
  return rule(
    `${folder}: ${others}`,
    { path: `^${folder}[/.]` },
    { path: ours, pathNot: `^(${allowed.join('|')})` },
  );
});

const network = '^(node:)?(fs|net|tls|dns|https?|http2|child_process|worker_threads)(/|$)';
const native =
  '^src/(base/(windows/|shield)|ipc/peer/peer|daemon/(home/single-instance|system/idle-collection))';

export default {
  forbidden: [
    ...walls,
    rule('no circle', {}, { circular: true }),
    rule('unlisted package', { path: ours }, { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown'] }),
    rule('oauth is handed fetch and clock', { path: '^src/oauth/' }, { path: network }),
    rule('native calls are in few places', { pathNot: native }, { path: 'node_modules/koffi/' }),
  ],
  options: {
    parser: 'swc',
    // Types count too: they are as hard to read in a circle.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { conditionNames: ['import', 'node', 'default'], exportsFields: ['exports'] },
  },
};
