import { Module } from '@nestjs/common';
import { WorkspacesModule } from '../workspaces/index.js';
import { AccessTokensController } from './access-tokens.controller.js';
import { AccessTokens } from './access-tokens.service.js';

@Module({
  imports: [WorkspacesModule],
  controllers: [AccessTokensController],
  providers: [AccessTokens],
  exports: [AccessTokens],
})
export class AccessTokensModule {}
