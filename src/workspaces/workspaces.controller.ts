import { Controller, Delete, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  BoundTokensToo,
  CurrentPrincipal,
  CurrentWorkspace,
  OwnedWorkspace,
  type Principal,
  RequiresSubscription,
  Scopes,
  Unbound,
  type WorkspaceRef,
} from '../access/index.js';
import { JsonBody, sendJsonList } from '../platform/http/index.js';
import { OpenWhenReadOnly } from '../platform/kill-switch/index.js';
import { Documented } from '../api-docs/index.js';
import { WORKSPACES_DOCS } from './workspaces.docs.js';
import { CreateWorkspaceRequest, SetupEncryptionRequest, VerifyPasswordRequest } from './workspaces.dto.js';
import { WorkspacesOfUser } from './workspaces-of-user.js';
import { Workspaces } from './workspaces.service.js';
import {
  createdWorkspaceWire,
  type CreatedWorkspaceWire,
  workspaceWire,
  type WorkspaceWire,
} from './workspaces.wire.js';

@Controller('api/v1/workspaces')
@Documented(WORKSPACES_DOCS)
export class WorkspacesController {
  constructor(
    private readonly workspaces: Workspaces,
    private readonly ofUser: WorkspacesOfUser,
  ) {}

  @Get()
  @Scopes('documents:read')
  @BoundTokensToo('lists that workspace alone')
  async list(
    @CurrentPrincipal() principal: Principal,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const form = { before: '{"workspaces":[', after: ']}', wire: workspaceWire };
    await sendJsonList(request, reply, this.ofUser.list(principal), form);
  }

  @Post()
  @Scopes('full')
  @Unbound()
  @RequiresSubscription()
  async create(
    @CurrentPrincipal() principal: Principal,
    @JsonBody() body: CreateWorkspaceRequest,
  ): Promise<CreatedWorkspaceWire> {
    return createdWorkspaceWire(await this.ofUser.create(principal.userId, body.name));
  }

  @Get(':id')
  @Scopes('documents:read')
  @OwnedWorkspace()
  async get(@CurrentWorkspace() { id }: WorkspaceRef): Promise<WorkspaceWire> {
    return workspaceWire(await this.workspaces.get(id));
  }

  @Delete(':id')
  @Scopes('full')
  @OwnedWorkspace()
  async delete(@CurrentWorkspace() { id }: WorkspaceRef): Promise<{ ok: true }> {
    await this.workspaces.delete(id);
    return { ok: true };
  }

  @Post(':id/setup-encryption')
  @HttpCode(200)
  @Scopes('full')
  @OwnedWorkspace()
  async setUpEncryption(
    @CurrentWorkspace() { id }: WorkspaceRef,
    @JsonBody() body: SetupEncryptionRequest,
  ): Promise<{ ok: true }> {
    await this.workspaces.setUpEncryption(id, body);
    return { ok: true };
  }

  @Post(':id/verify-password')
  @OpenWhenReadOnly('only compares')
  @HttpCode(200)
  @Scopes('documents:read')
  @OwnedWorkspace()
  async verifyPassword(
    @CurrentWorkspace() { id }: WorkspaceRef,
    @JsonBody() body: VerifyPasswordRequest,
  ): Promise<{ valid: boolean }> {
    return { valid: await this.workspaces.verifyPassword(id, body.verificationHash) };
  }
}
