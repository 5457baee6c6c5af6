/** The words of the API, by the names that the rest of the page uses. Generated from its document; nothing is written twice. */
import type { components } from './schema.gen'

type Schemas = components['schemas']

export type Event = Schemas['EventRecord']
export type TextDelta = Schemas['TextDelta']
export type ThinkingDelta = Schemas['ThinkingDelta']
export type RetryDelta = Schemas['RetryDelta']
export type LargeRecord = Schemas['LargeRecord']
/** What a stream tells; a large event comes as a reference, which `follow` resolves. */
export type StreamItem = Told | LargeRecord
/** What the reducer is given. */
export type Told = Event | TextDelta | ThinkingDelta | RetryDelta

export type Part = Schemas['Message']['parts'][number]
export type TextPart = Schemas['TextPart']
export type ThinkingPart = Schemas['ThinkingPart']
export type FilePart = Schemas['FilePart']
export type ToolCall = Schemas['ToolCall']
export type ToolResult = Schemas['ToolResult']
export type Usage = Schemas['Usage']
export type Ending = Schemas['RunEnded']['ending']
export type Outcome = ToolResult['outcome']
export type Effect = Schemas['ToolFinished']['effect']
export type ActionKind = Schemas['ToolStarted']['action']
export type Decision = Schemas['ApprovalDecided']['decision']
export type Answer = Schemas['Answer']

export type Session = Schemas['Session']
export type SessionFile = Schemas['SessionFile']
export type RunSummary = Schemas['RunSummary']
export type RunReport = Schemas['RunReport']
export type Started = Schemas['Started']
export type Approval = Schemas['Approval']
export type Passage = Schemas['Passage']
export type ApprovalForm = Schemas['ApprovalForm']
export type DecisionBody = Schemas['DecisionBody']
export type Decided = Schemas['Decided']
export type KeptRule = Schemas['KeptRule']
export type RuleList = Schemas['RuleList']
export type Permission = Schemas['Permission']
export type AgentSummary = Schemas['AgentSummary']
export type ToolSummary = Schemas['ToolSummary']
export type PublicSettings = Schemas['PublicSettings']
export type Version = Schemas['Version']
export type Me = Schemas['Me']
export type Member = Schemas['Member']
export type Key = Schemas['Key']
export type AuditEntry = Schemas['AuditEntry']
export type Problem = Schemas['Problem']
