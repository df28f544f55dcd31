export { AccessTokensModule } from './access-tokens.module.js';
export { AccessTokens } from './access-tokens.service.js';
