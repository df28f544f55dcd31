import { Module } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { WorkspacePurge, WorkspacesModule } from '../../workspaces/index.js';
import { AccessToken, AuthModule } from '../index.js';
import { AccessTokensController } from './access-tokens.controller.js';
import { AccessTokens } from './access-tokens.service.js';

export { AccessTokens, type TokenOwner } from './access-tokens.service.js';

@Module({
  imports: [AuthModule, WorkspacesModule, TypeOrmModule.forFeature([AccessToken])],
  controllers: [AccessTokensController],
  providers: [AccessTokens],
  exports: [AccessTokens],
})
export class AccessTokensModule {
  constructor(purge: WorkspacePurge, @InjectRepository(AccessToken) tokens: Repository<AccessToken>) {
    // Where workspaces are on nodes, no foreign key deletes these rows.
    purge.addStep(async (workspaceId) => (await tokens.delete({ workspaceId })).affected ?? 0);
  }
}
