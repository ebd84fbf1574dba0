/** Names of the grant by an identity assertion (RFC 7523 §2.1; ID-JAG). */
export const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
export const idJagProfile = 'urn:ietf:params:oauth:grant-profile:id-jag';
