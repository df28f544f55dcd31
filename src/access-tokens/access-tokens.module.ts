import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { AccessTokensController } from './access-tokens.controller.js';
import { AccessTokens } from './access-tokens.service.js';

@Module({
  imports: [AuthModule, WorkspacesModule],
  controllers: [AccessTokensController],
  providers: [AccessTokens],
  exports: [AccessTokens],
})
export class AccessTokensModule {}
