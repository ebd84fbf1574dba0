/** A token as the wire has it. */
export const wireToken = (resource: string, fields: object = {}) => ({
  access_token: 'secret-1',
  token_type: 'Bearer',
  expires_at: 1_800_000_000,
  expires_in: 3600,
  scope: 'read',
  resource,
  account: '',
  issuer: 'https://login.example',
  tokenId: 't1',
  ...fields,
});
