/** The part of ECharts that is needed, in a module of its own so that it is loaded when the first chart is seen. */
import { BarChart, LineChart, PieChart } from 'echarts/charts'
import { AriaComponent, GridComponent, LegendComponent, TooltipComponent } from 'echarts/components'
import { init, use, type EChartsType } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'

use([BarChart, LineChart, PieChart, AriaComponent, GridComponent, LegendComponent, TooltipComponent, SVGRenderer])

export function chartIn(place: HTMLElement): EChartsType {
  return init(place, null, { renderer: 'svg' })
}
