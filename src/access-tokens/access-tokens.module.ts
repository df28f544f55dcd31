import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkspacesModule } from '../workspaces/index.js';
import { AccessTokenEntity } from './access-token.entity.js';
import { AccessTokensController } from './access-tokens.controller.js';
import { AccessTokens } from './access-tokens.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([AccessTokenEntity]), WorkspacesModule],
  controllers: [AccessTokensController],
  providers: [AccessTokens],
  exports: [AccessTokens],
})
export class AccessTokensModule {}
