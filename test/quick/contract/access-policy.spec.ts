import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RouteAccessCheck } from '../../../src/access/route-policy.js';
import {
  BoundTokensToo,
  Interactive,
  OwnedWorkspace,
  Public,
  Scopes,
  Unbound,
} from '../../../src/access/route-access.js';

@Controller('guarded')
class Guarded {
  @Get()
  @Scopes('documents:read')
  @Unbound()
  read(): string {
    return 'guarded';
  }
}

@Controller('open')
@Public('this test')
class OpenByDeclaration {
  @Get()
  read(): string {
    return 'open';
  }
}

@Controller('forgotten')
class Forgotten {
  @Get()
  @Scopes('documents:read')
  @Unbound()
  remembered(): string {
    return 'guarded';
  }

  @Get('hole')
  hole(): string {
    return 'a hole';
  }
}

@Controller('clear')
class Clear {
  @Get('interactive')
  @Interactive()
  interactive(): string {
    return 'no token is let in';
  }

  @Get('harmless')
  @Scopes('documents:read')
  @BoundTokensToo('this test')
  harmless(): string {
    return 'harmless';
  }

  @Get(':id')
  @Scopes('documents:read')
  @OwnedWorkspace()
  named(): string {
    return 'held to its workspace';
  }
}

@Controller('unclear')
class Unclear {
  @Get()
  @Scopes('full')
  everything(): string {
    return 'beyond any workspace';
  }
}

async function boot(...controllers: (new () => unknown)[]): Promise<void> {
  class TestModule {}
  Module({ imports: [DiscoveryModule], controllers, providers: [RouteAccessCheck] })(TestModule);
  const app = await NestFactory.create(TestModule, new FastifyAdapter(), {
    logger: false,
    abortOnError: false,
  });
  try {
    await app.init();
  } finally {
    await app.close();
  }
}

describe('the access policy of a route', () => {
  it('may be declared on the handler or its controller', async () => {
    await expect(boot(Guarded, OpenByDeclaration)).resolves.toBeUndefined();
  });

  it('stops the boot when one handler lacks it, and the message names the handler', async () => {
    await expect(boot(Guarded, Forgotten)).rejects.toThrow('Routes without an access policy: Forgotten.hole');
  });
});

describe('the treatment of tokens bound to a workspace by a bearer route', () => {
  it('is clear when the route names the workspace, declares it, or admits no token', async () => {
    await expect(boot(Clear, Guarded)).resolves.toBeUndefined();
  });

  it('stops the boot when one handler leaves it open, and the message names the handler', async () => {
    await expect(boot(Clear, Unclear)).rejects.toThrow(
      'Routes that do not declare how they treat tokens bound to a workspace: Unclear.everything',
    );
  });
});
