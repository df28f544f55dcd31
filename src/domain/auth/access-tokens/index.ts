export { AccessTokensModule } from './access-tokens.module.js';
export { AccessTokens, type TokenOwner } from './access-tokens.service.js';
