"""Words for the things tables are about, Chinese and English side by side.

Each group is one concept: a word of the sentence and a column's name that belong to the same group mean the same thing.
"""

import re

MONEY = (
    "revenue", "sales", "sales amount", "amount", "turnover", "income", "gmv", "net sales", "gross sales", "sales value",
    "receipts", "proceeds", "takings", "earnings",
    "销售额", "销售金额", "金额", "营收", "收入", "营业额", "销售收入",
    "成交额", "销售", "流水", "业绩", "总额", "交易额", "实收", "应收",
)  # fmt: skip
_COST = ("cost", "costs", "expense", "expenses", "spend", "spending", "expenditure", "费用", "成本", "支出", "花费", "开支")
_PROFIT = ("profit", "net profit", "gross profit", "margin", "利润", "毛利", "净利")
_PRICE = ("price", "unit price", "单价", "价格", "售价")
_ORDERS = ("orders", "order count", "number of orders", "订单数", "订单量", "单数", "订单笔数", "笔数")
_UNITS = ("units", "quantity", "qty", "units sold", "pieces", "volume", "数量", "件数", "销量", "销售量", "销售数量", "台数")
_VISITS = ("visits", "visitors", "traffic", "sessions", "page views", "pv", "uv", "访问量", "访客", "流量", "浏览量")
_RATING = ("rating", "score", "satisfaction", "评分", "得分", "分数", "满意度", "成绩")
_SALARY = ("salary", "pay", "wage", "wages", "compensation", "工资", "薪资", "薪水", "月薪", "薪酬")
_AGE = ("age", "old", "oldest", "young", "youngest", "年龄", "年纪")
_STOCK = ("stock", "inventory", "库存", "存货")
_TEMPERATURE = ("temperature", "temp", "温度", "气温")
_HOURS = ("hours", "duration", "工时", "时长")
_BUDGET = ("budget", "target", "预算", "目标")
_DISCOUNT = ("discount", "rebate", "折扣", "优惠")

_CHANNEL = ("channel", "sales channel", "渠道", "通路", "销售渠道")
_REGION = ("region", "area", "territory", "zone", "district", "province", "地区", "区域", "大区", "片区", "省份", "地域", "省")
_COUNTRY = ("country", "nation", "国家")
_CITY = ("city", "town", "城市")
_PRODUCT = ("product", "item", "goods", "sku", "product name", "产品", "商品", "货品", "品名", "单品")
_CATEGORY = ("category", "product line", "class", "品类", "类别", "分类", "类目", "种类", "产品线")
_TYPE = ("type", "kind", "类型")
_CUSTOMER = ("customer", "client", "buyer", "account", "客户", "顾客", "买家", "会员")
_STORE = ("store", "shop", "branch", "outlet", "门店", "店铺", "分店", "店", "网点")
_SELLER = (
    "salesperson",
    "sales rep",
    "seller",
    "rep",
    "agent",
    "employee",
    "staff",
    "销售员",
    "业务员",
    "员工",
    "销售人员",
    "负责人",
    "销售代表",
    "人员",
)
_TEAM = ("team", "department", "division", "unit", "团队", "部门", "小组", "科室")
_SEGMENT = ("segment", "customer segment", "tier", "客群", "细分", "等级", "级别")
_BRAND = ("brand", "make", "品牌")
_SUPPLIER = ("supplier", "vendor", "manufacturer", "供应商", "厂商", "厂家")
_PAYMENT = ("payment", "payment method", "支付方式", "付款方式")
_STATUS = ("status", "state", "状态")
_PROJECT = ("project", "项目")
_TIME = ("date", "day", "time", "日期", "时间", "下单时间", "订单日期")

MEASURES = (
    MONEY, _COST, _PROFIT, _PRICE, _ORDERS, _UNITS, _VISITS, _RATING, _DISCOUNT,
    _SALARY, _AGE, _STOCK, _TEMPERATURE, _HOURS, _BUDGET,
)  # fmt: skip
GROUPS = (
    _CHANNEL, _REGION, _PRODUCT, _CATEGORY, _SEGMENT, _TEAM, _STORE, _BRAND,
    _COUNTRY, _CITY, _SELLER, _CUSTOMER, _TYPE, _SUPPLIER, _PAYMENT, _STATUS, _PROJECT,
)  # fmt: skip
"""In the order in which they make a good breakdown when the user names none."""
CONCEPTS = (*MEASURES, *GROUPS, _TIME)

MONEY_LIKE = (MONEY, _PROFIT, _COST)
IDENTIFIER = re.compile(
    r"\b(?:id|ids|no|number|code|year|zip|phone|index|row|postcode|postal|seq|key|uuid|latitude|"
    r"longitude|lat|lon|lng)\b|编号|序号|年份|代码|电话|邮编|手机|单号|工号|学号|经度|纬度",
    re.IGNORECASE,
)
AVERAGED = re.compile(
    r"\b(?:price|rate|ratio|percent|percentage|pct|score|rating|temperature|temp|humidity|"
    r"age|speed|margin|share|discount|satisfaction|pressure|"
    r"weight|height|duration|latency|index|level|grade)\b|单价|价格|率|比例|占比|评分|得分|"
    r"分数|温度|湿度|年龄|速度|满意度|折扣|时长|成绩|气压",
    re.IGNORECASE,
)
"""Columns whose values are averaged, because adding them up means nothing."""

_UNIT_IN_NAME = re.compile(r"[(（\[][^)）\]]*[)）\]]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def normal(name: str) -> str:
    """A column's name as words: lower case, no unit in brackets, camel case and underscores as blanks."""
    words = _CAMEL.sub(" ", _UNIT_IN_NAME.sub(" ", name) if _UNIT_IN_NAME.sub("", name).strip() else name)
    return " ".join(re.sub(r"[_\-./]+", " ", words).lower().split())


def forms(word: str) -> set[str]:
    """A word in singular and plural; Chinese has no plural."""
    if not word or not word[-1].isascii():
        return {word}
    found = {word, word + "s"}
    if word.endswith("ies"):
        found.add(word[:-3] + "y")
    elif word.endswith(("ches", "shes", "sses", "xes")):
        found.add(word[:-2])
    elif word.endswith("s") and not word.endswith("ss"):
        found.add(word[:-1])
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        found.add(word[:-1] + "ies")
    if word.endswith(("ch", "sh", "s", "x")):
        found.add(word + "es")
    return found


def spoken(word: str) -> re.Pattern[str]:
    """A pattern that finds a word or its plural as a whole word in lower-case text."""
    options = "|".join(re.escape(form) for form in sorted(forms(word), key=len, reverse=True))
    left = r"(?<![a-z0-9])" if word[:1].isascii() else ""
    right = r"(?![a-z0-9])" if word[-1:].isascii() else ""
    return re.compile(f"{left}(?:{options}){right}")


def concept_of(name: str) -> tuple[str, ...] | None:
    """The concept a column's name belongs to: that of the longest word of the lexicon it contains, the last one if equal."""
    words = normal(name)
    best: tuple[int, int, tuple[str, ...]] | None = None
    for concept in CONCEPTS:
        for word in concept:
            found = list(spoken(word).finditer(words))
            if found and (best is None or (len(word), found[-1].end()) > best[:2]):
                best = (len(word), found[-1].end(), concept)
    return best[2] if best else None
