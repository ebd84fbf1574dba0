/** What several journeys press and read, by the names that a user, or a screen reader, finds there. */
export const names = {
  notice: { pairing: 'wants to connect', asking: 'wants access' },
  tabs: {
    overview: 'Overview',
    servers: 'Servers',
    apps: 'Connected apps',
    activity: 'Activity',
    settings: 'Settings',
  },
  card: { allow: 'Allow', pair: 'Connect', refuse: 'Don’t allow' },
} as const;
